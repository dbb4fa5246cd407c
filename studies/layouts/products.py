"""The data products of the DUNE study: hits with their 23 members, and wires with regions of interest."""

from thalweg import layouts
from thalweg._schema.types import Type, float32, int16, int32, int64, list_, uint32, uint64

HIT: dict[str, Type] = {
    "EventID": int64,
    "fChannel": uint32,
    "fView": int32,
    "fStartTick": int32,
    "fEndTick": int32,
    "fPeakTime": float32,
    "fSigmaPeakTime": float32,
    "fRMS": float32,
    "fPeakAmplitude": float32,
    "fSigmaPeakAmplitude": float32,
    "fROISummedADC": float32,
    "fHitSummedADC": float32,
    "fIntegral": float32,
    "fSigmaIntegral": float32,
    "fMultiplicity": int16,
    "fLocalIndex": int16,
    "fGoodnessOfFit": float32,
    "fNDF": int32,
    "fSignalType": int32,
    "fWireID_Cryostat": int32,
    "fWireID_TPC": int32,
    "fWireID_Plane": int32,
    "fWireID_Wire": int32,
}

# The paper's struct-of-arrays files had no offset: here every layout stores it.
REGION_OF_INTEREST = {"offset": uint64, "data": list_(float32)}

WIRE = {"EventID": int64, "fWire_Channel": uint32, "fWire_View": int32, "fSignalROI": list_(REGION_OF_INTEREST)}

MODEL = layouts.event_model(
    {"hits": list_(HIT), "wires": list_(WIRE)},
    groups={"hits": ["hits"], "wires": ["wires"], "rois": ["wires.fSignalROI"]},
)

# The projections that are read: a name, and the fields (None: all). The paper's slides name the last three.
SELECTIONS: dict[str, list[str] | None] = {
    "everything": None,
    "peak amplitude": ["hits.fPeakAmplitude"],
    "wire channel": ["wires.fWire_Channel"],
    "ROI data": ["wires.fSignalROI.data"],
}
