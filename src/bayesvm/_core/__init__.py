"""Native code (C++17, nanobind), each folder with its plain NumPy reference."""
