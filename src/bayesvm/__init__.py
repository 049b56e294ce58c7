"""Support vector machines that tune themselves."""
