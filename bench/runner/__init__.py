"""What dev/bench consists of: the workloads, the allocators, one measurement, the tables, the command line."""
