//! The sandbox: a real pair, a router, a sample workload. Used by tests and the demo only.
