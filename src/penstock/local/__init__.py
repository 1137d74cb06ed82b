"""The host in this process: it feeds the kernel, drives it, and hands its answers on."""
