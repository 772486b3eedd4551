//! Reading a folder of tasks: `manifest.json`, `layer_plan.json` and the XML of each task.
