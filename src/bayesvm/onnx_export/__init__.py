"""Export of fitted estimators to ONNX (extra ``onnx``): prediction without this library, in double precision."""

from bayesvm.onnx_export.export import to_onnx

__all__ = ["to_onnx"]
