"""Chat models: an OpenAI-compatible endpoint, or the user's own Claude Code client."""

from memoryd.llm.claude import ClaudeLLM, extractor_folder, is_internal_text, mark
from memoryd.llm.endpoint import OpenAILLM
from memoryd.llm.recorded import RecordingLLM, ReplayLLM, UnansweredError, request_id

__all__ = [
    "ClaudeLLM",
    "OpenAILLM",
    "RecordingLLM",
    "ReplayLLM",
    "UnansweredError",
    "extractor_folder",
    "is_internal_text",
    "mark",
    "request_id",
]
