"""Recording of real TCP traffic: namespaces, a relay with rules, workloads, and the kernel's own account."""
