"""Events from a seed, in two kinds: the noise of the paper, and values that are correlated as those of wires are.

A batch depends on the seed and its own number only: every layout and every group of producers gets the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from layouts.products import HIT, SELECTIONS
from layouts.settings import DATA, Settings

from thalweg import layouts

Array = npt.NDArray[Any]

CHANNELS_PER_TPC = 2560
TICKS = 6000
LSB_ADC = 1 / 16  # deconvolved waveforms are given in steps of this


class Counts(NamedTuple):
    """How long each list is."""

    hits: Array  # of each event
    wires: Array  # of each event
    rois: Array  # of each wire
    samples: Array  # of each region of interest


@dataclass(frozen=True)
class Data:
    batches: list[layouts.Batch]
    first_events: list[int]
    raw_bytes: dict[str, int]
    """The bytes of the values of each selection; lengths and ids are not counted, because layouts differ in them."""


def make(settings: Settings, kind: str) -> Data:
    starts = list(range(0, settings.events, settings.batch_events))
    made = [make_batch(settings, kind, start) for start in starts]
    raw_bytes = {selection: sum(each[selection] for _, each in made) for selection in SELECTIONS}
    return Data([batch for batch, _ in made], starts, raw_bytes)


def make_batch(settings: Settings, kind: str, first_event: int) -> tuple[layouts.Batch, dict[str, int]]:
    """A batch, and the bytes of the values of each selection."""
    random = np.random.default_rng([settings.seed, DATA.index(kind), first_event])
    events = min(settings.batch_events, settings.events - first_event)
    counts = _counts(settings, random, events)
    numbers = np.arange(first_event, first_event + events, dtype=np.int64)
    hits, wires, rois = (_noise if kind == "uniform" else _waveforms)(random, counts)
    hits = {"EventID": np.repeat(numbers, counts.hits), **hits}
    hit_columns = [np.ascontiguousarray(hits[name], type_.dtype) for name, type_ in HIT.items()]
    wire_columns = [np.repeat(numbers, counts.wires), wires["channel"], wires["view"]]
    of_hits, of_wires, of_rois, of_samples = (np.asarray(each, np.uint64) for each in counts)
    columns = [of_hits, *hit_columns, of_wires, *wire_columns, of_rois, rois["offset"], of_samples, rois["data"]]
    raw_bytes = {
        "everything": sum(column.nbytes for column in (*hit_columns, *wire_columns, *rois.values())),
        "peak amplitude": hits["fPeakAmplitude"].nbytes,
        "wire channel": wires["channel"].nbytes,
        "ROI data": rois["data"].nbytes,
    }
    return layouts.Batch(events, columns), raw_bytes


def _counts(settings: Settings, random: np.random.Generator, events: int) -> Counts:
    def draw(mean: int, count: int) -> Array:
        if settings.lengths == "fixed":
            return np.full(count, mean, np.int64)
        return random.poisson(mean, count).astype(np.int64)

    hits, wires = draw(settings.hits, events), draw(settings.wires, events)
    rois = draw(settings.rois, int(wires.sum()))
    return Counts(hits, wires, rois, draw(settings.samples, int(rois.sum())))


Columns = dict[str, Array]


def _noise(random: np.random.Generator, counts: Counts) -> tuple[Columns, Columns, Columns]:
    """Everything uniform and independent, in the ranges of the paper's generator."""
    hits, wires, rois = (int(count.sum()) for count in (counts.hits, counts.wires, counts.rois))

    def below(limit: int, count: int, dtype: npt.DTypeLike = np.int32) -> Array:
        return random.integers(0, limit, count, dtype)

    def value(count: int) -> Array:
        return random.random(count, np.float32) * np.float32(100)

    start = below(5001, hits)
    hit: Columns = {name: value(hits) for name, type_ in HIT.items() if type_.name == "float32"}
    hit |= {name: below(101, hits) for name in HIT if name.startswith("fWireID") or name == "fNDF"}
    hit |= {name: below(11, hits, np.int16) for name in ("fMultiplicity", "fLocalIndex")}
    hit |= {"fStartTick": start, "fEndTick": start + below(100, hits)}
    hit |= {"fChannel": below(1000, hits, np.uint32), "fView": below(7, hits), "fSignalType": below(3, hits)}
    wire = {"channel": below(1024, wires, np.uint32), "view": below(7, wires)}
    roi = {"offset": below(501, rois, np.uint64), "data": value(int(counts.samples.sum()))}
    return hit, wire, roi


def _waveforms(random: np.random.Generator, counts: Counts) -> tuple[Columns, Columns, Columns]:
    """Wires in the order of their channels, regions in the order of their time, in each region one smooth pulse on a
    pedestal; hits are what a fit would find in some of these regions."""
    wire_of_event = _places(counts.wires)
    step = random.integers(1, 20, len(wire_of_event))
    channel = (wire_of_event * 20 + step).astype(np.uint32)
    view = (channel % CHANNELS_PER_TPC // 854).astype(np.int32).clip(0, 2)

    roi_wire = np.repeat(np.arange(len(channel)), counts.rois)
    spacing = TICKS // max(1, int(counts.rois.max(initial=1)))
    offset = (_places(counts.rois) * spacing + random.integers(0, max(1, spacing // 2), len(roi_wire))).astype(
        np.uint64
    )

    length = counts.samples.astype(np.float32)
    amplitude = (20 + random.exponential(60, len(roi_wire))).astype(np.float32)
    width = random.uniform(1.5, 3.5, len(roi_wire)).astype(np.float32)
    center = length / 2 + random.uniform(-1, 1, len(roi_wire)).astype(np.float32)
    pedestal = random.normal(0, 0.5, len(channel)).astype(np.float32)[roi_wire]

    def of_sample(values: Array) -> Array:
        return np.repeat(values, counts.samples)

    distance = (_places(counts.samples).astype(np.float32) - of_sample(center)) / of_sample(width)
    pulse = of_sample(amplitude) * np.exp(-0.5 * distance**2) + of_sample(pedestal)
    pulse += random.standard_normal(len(pulse), np.float32) * np.float32(0.2)
    samples = (np.round(pulse / LSB_ADC) * LSB_ADC).astype(np.float32)

    roi = _regions_of_hits(counts)
    sums = np.add.reduceat(np.append(samples, np.float32(0)), _starts(counts.samples))[roi] * (counts.samples[roi] > 0)
    wire = roi_wire[roi]
    area = amplitude[roi] * width[roi] * np.float32(np.sqrt(2 * np.pi))
    noise = random.random(len(roi), np.float32)
    hit: Columns = {
        "fChannel": channel[wire],
        "fView": view[wire],
        "fStartTick": offset[roi],
        "fEndTick": offset[roi] + counts.samples[roi],
        "fPeakTime": offset[roi].astype(np.float32) + center[roi],
        "fSigmaPeakTime": width[roi] / amplitude[roi],
        "fRMS": width[roi],
        "fPeakAmplitude": amplitude[roi],
        "fSigmaPeakAmplitude": 0.2 + noise / 10,
        "fROISummedADC": sums,
        "fHitSummedADC": sums,
        "fIntegral": area,
        "fSigmaIntegral": np.sqrt(area),
        "fMultiplicity": np.ones(len(roi)),
        "fLocalIndex": np.zeros(len(roi)),
        "fGoodnessOfFit": 0.5 + noise,
        "fNDF": counts.samples[roi] - 3,
        "fSignalType": view[wire] // 2,
        "fWireID_Cryostat": np.zeros(len(roi)),
        "fWireID_TPC": channel[wire] // CHANNELS_PER_TPC,
        "fWireID_Plane": view[wire],
        "fWireID_Wire": channel[wire] % 854,
    }
    return hit, {"channel": channel, "view": view}, {"offset": offset, "data": samples}


def _regions_of_hits(counts: Counts) -> Array:
    """The hits of an event, evenly over its regions of interest. (Without any, they belong to the next event's.)"""
    wire_starts = np.append(0, np.cumsum(counts.rois))
    event_wires = np.append(0, np.cumsum(counts.wires))
    first, end = wire_starts[event_wires[:-1]], wire_starts[event_wires[1:]]
    share = _places(counts.hits) * np.repeat(end - first, counts.hits) // np.repeat(counts.hits, counts.hits)
    return np.asarray(np.clip(np.repeat(first, counts.hits) + share, 0, len(counts.samples) - 1))


def _starts(lengths: Array) -> Array:
    return np.asarray(np.cumsum(lengths) - lengths)


def _places(lengths: Array) -> Array:
    """Returns the place of each element in its list."""
    return np.asarray(np.arange(int(lengths.sum())) - np.repeat(_starts(lengths), lengths))
