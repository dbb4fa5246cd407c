"""Persistent layouts: how events with nested data products are stored in tables and rows, and read back as events.

    model = tw.layouts.event_model({"hits": tw.list_({...}), "wires": tw.list_({...})})
    plan = tw.layouts.plan(model, tw.layouts.Layout("element", "per_group", "soa"))
    with tw.create("run.h5", plan.schema, metadata=plan.metadata()) as out, plan.writer(out) as writer:
        writer.append(events)
    tw.layouts.read(tw.open("run.h5")).to_awkward()

docs/layouts.md explains what each layout stores.
"""

from thalweg.layouts.layout import ALL, Layout
from thalweg.layouts.layout_plan import LayoutWriter, Plan, plan, read
from thalweg.layouts.model import EventModel, event_model
from thalweg.layouts.scatter import Batch
from thalweg.layouts.toml import load_model

__all__ = ["ALL", "Batch", "EventModel", "Layout", "LayoutWriter", "Plan", "event_model", "load_model", "plan", "read"]
