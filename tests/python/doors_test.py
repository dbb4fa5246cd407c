"""A round of the campaign of doors (`make doors` plays more)."""

from doors_campaign import play


def test_images_of_all_doors_have_the_right_values_over_kills_and_recover() -> None:
    done = play(seconds=0, seed=1)
    assert done["rounds"] == 1
    assert done["kills"] == 4
