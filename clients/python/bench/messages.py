"""Messages as models of several providers answer them, and as JavaScript writes them to JSON."""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage

MODELS = ("gpt-5-mini", "gpt-4.1-2025-04-14", "claude-sonnet-4-5", "gemini-2.5-flash")


def identifier(chosen: random.Random, length: int = 24) -> str:
    return "".join(chosen.choices(string.ascii_letters + string.digits, k=length))


def unique(chosen: random.Random) -> str:
    return str(uuid.UUID(int=chosen.getrandbits(128), version=4))


def call(chosen: random.Random, name: str, args: dict[str, Any]) -> dict[str, Any]:
    prefix = chosen.choice(("call_", "toolu_01"))
    return {"name": name, "args": args, "id": prefix + identifier(chosen), "type": "tool_call"}


def answer(chosen: random.Random, text: str, calls: list[dict[str, Any]]) -> AIMessage:
    """An answer of some provider's model, with what the integration adds to it."""
    fields = chosen.choice((_openai, _anthropic, _google, _plain))(chosen)
    if fields.pop("blocks", False):
        blocks: list[Any] = [{"type": "text", "text": text}] if text else []
        keys = (("id", "id"), ("name", "name"), ("input", "args"))
        blocks += [{"type": "tool_use", **{to: made[of] for to, of in keys}} for made in calls]
        return AIMessage(content=blocks, tool_calls=calls, **fields)
    return AIMessage(content=text, tool_calls=calls, **fields)


def _usage(chosen: random.Random) -> dict[str, Any]:
    read, written = chosen.randrange(200, 40_000), chosen.randrange(10, 2_000)
    return {
        "input_tokens": read,
        "output_tokens": written,
        "total_tokens": read + written,
        "input_token_details": {"audio": 0, "cache_read": chosen.choice((0, read // 2))},
        "output_token_details": {"audio": 0, "reasoning": chosen.choice((0, written // 2))},
    }


def _openai(chosen: random.Random) -> dict[str, Any]:
    usage = _usage(chosen)
    return {
        "additional_kwargs": {"refusal": None},
        "response_metadata": {
            "token_usage": {
                "completion_tokens": usage["output_tokens"],
                "prompt_tokens": usage["input_tokens"],
                "total_tokens": usage["total_tokens"],
                "completion_tokens_details": {
                    "accepted_prediction_tokens": 0,
                    "audio_tokens": 0,
                    "reasoning_tokens": usage["output_token_details"]["reasoning"],
                    "rejected_prediction_tokens": 0,
                },
                "prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": 0},
            },
            "model_provider": "openai",
            "model_name": chosen.choice(MODELS[:2]),
            "system_fingerprint": "fp_" + identifier(chosen, 10).lower(),
            "id": "chatcmpl-" + identifier(chosen, 29),
            "service_tier": "default",
            "finish_reason": chosen.choice(("stop", "tool_calls")),
            "logprobs": None,
        },
        "usage_metadata": usage,
        "id": f"lc_run--{unique(chosen)}-0",
    }


def _anthropic(chosen: random.Random) -> dict[str, Any]:
    usage = _usage(chosen)
    return {
        "blocks": True,
        "response_metadata": {
            "id": "msg_01" + identifier(chosen, 22),
            "model": MODELS[2],
            "stop_reason": chosen.choice(("end_turn", "tool_use")),
            "stop_sequence": None,
            "usage": {
                "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": usage["input_token_details"]["cache_read"],
                "input_tokens": usage["input_tokens"],
                "output_tokens": usage["output_tokens"],
                "server_tool_use": None,
                "service_tier": "standard",
            },
            "model_name": MODELS[2],
            "model_provider": "anthropic",
        },
        "usage_metadata": {
            **usage,
            "input_token_details": {"cache_creation": 0, "cache_read": 0},
        },
        "id": f"lc_run--{unique(chosen)}-0",
    }


def _google(chosen: random.Random) -> dict[str, Any]:
    return {
        "response_metadata": {
            "finish_reason": "STOP",
            "model_name": MODELS[3],
            "safety_ratings": [],
            "model_provider": "google_genai",
        },
        "usage_metadata": {**_usage(chosen), "output_token_details": {"reasoning": 0}},
        "id": f"lc_run--{unique(chosen)}-0",
    }


def _plain(_: random.Random) -> dict[str, Any]:
    return {}


def javascript(kind: str, chosen: random.Random, content: Any, **more: Any) -> dict[str, Any]:
    """A message of @langchain/core as its `toJSON` writes it. A field set to None is left out."""
    fields = {"content": content, **_JAVASCRIPT[kind](chosen), **more, "id": unique(chosen)}
    kwargs = {name: value for name, value in fields.items() if value is not None}
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "messages", kind],
        "kwargs": kwargs,
    }


def _javascript_answer(chosen: random.Random) -> dict[str, Any]:
    found = chosen.choice((_openai, _anthropic, _google))(chosen)
    return {
        "tool_calls": [],
        "invalid_tool_calls": [],
        "additional_kwargs": {},
        "response_metadata": found["response_metadata"],
        "usage_metadata": found["usage_metadata"],
    }


_JAVASCRIPT: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "HumanMessage": lambda _: {"additional_kwargs": {}, "response_metadata": {}},
    "AIMessage": _javascript_answer,
    "ToolMessage": lambda _: {
        "status": "success",
        "metadata": {},
        "additional_kwargs": {},
        "response_metadata": {},
        "type": "tool",
    },
}
