"""What every other room uses: errors, signals, paths, quantities. It uses none of them."""
