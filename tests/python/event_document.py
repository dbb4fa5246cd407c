"""A model of events as a TOML file has it, with all that one may say of a product."""

TOML = """
[products]
trigger_time = { type = "uint64", unit = "ns" }
comment = "string"

[[products.hits]]
channel = "uint32"
position = { type = "float32", shape = [3], unit = "mm" }
type = "uint8"

[[products.wires]]
rois = [{ offset = "uint64", data = ["float32"] }]
box = { struct = { low = "int8", high = "int8" }, description = "its corners" }
times = { list = "float64", unit = "s" }

[groups]
rois = ["wires.rois"]
"""
