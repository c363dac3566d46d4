"""The parser, the decoder, the encoder, the reader and the writer of each wire.

A wire's module is imported when it is first used: most programs speak one wire or two. Every import
is a plain statement, so that programs which bundle Python, such as PyInstaller, find the modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sse import SseParser

if TYPE_CHECKING:
    from ..catalog.provider import Provider
    from ..wire_name import Wire
    from .gemini.json_events import RawJsonParser
    from .protocol import Decoder, Encoder, Reader, Writer


def parser_of(wire: Wire) -> SseParser | RawJsonParser:
    """Return a new parser that cuts one body of *wire* into its events."""
    if wire != "gemini":
        return SseParser()
    from .gemini.json_events import RawJsonParser

    return RawJsonParser()


def decoder_of(provider: Provider) -> Decoder:
    """Return a new decoder for the events of one attempt at *provider*."""
    match provider.wire:
        case "anthropic":
            return _anthropic_decoder(provider)
        case "openai-chat":
            return _chat_decoder(provider)
        case "openai-responses":
            return _responses_decoder(provider)
        case "gemini":
            return _gemini_decoder(provider)


def _anthropic_decoder(provider: Provider) -> Decoder:
    from .anthropic.decode import AnthropicDecoder

    return AnthropicDecoder(provider)


def _chat_decoder(provider: Provider) -> Decoder:
    from .openai_chat.decode import ChatDecoder

    return ChatDecoder(provider)


def _responses_decoder(provider: Provider) -> Decoder:
    from .openai_responses.decode import ResponsesDecoder

    return ResponsesDecoder(provider)


def _gemini_decoder(provider: Provider) -> Decoder:
    from .gemini.decode import GeminiDecoder

    return GeminiDecoder(provider)


def encoder_of(wire: Wire) -> Encoder:
    """Return the module that encodes requests in *wire*."""
    match wire:
        case "anthropic":
            return _anthropic_encoder()
        case "openai-chat":
            return _chat_encoder()
        case "openai-responses":
            return _responses_encoder()
        case "gemini":
            return _gemini_encoder()


def _anthropic_encoder() -> Encoder:
    from .anthropic import encode

    return encode


def _chat_encoder() -> Encoder:
    from .openai_chat import encode

    return encode


def _responses_encoder() -> Encoder:
    from .openai_responses import encode

    return encode


def _gemini_encoder() -> Encoder:
    from .gemini import encode

    return encode


def reader_of(wire: Wire) -> Reader:
    """Return the module that reads the requests of clients in *wire*."""
    match wire:
        case "anthropic":
            return _anthropic_reader()
        case "openai-chat":
            return _chat_reader()
        case "openai-responses":
            return _responses_reader()
        case "gemini":
            return _gemini_reader()


def _anthropic_reader() -> Reader:
    from .anthropic import read

    return read


def _chat_reader() -> Reader:
    from .openai_chat import read

    return read


def _responses_reader() -> Reader:
    from .openai_responses import read

    return read


def _gemini_reader() -> Reader:
    from .gemini import read

    return read


def writer_of(wire: Wire) -> type[Writer]:
    """Return the class that writes answers for clients in *wire*."""
    match wire:
        case "anthropic":
            from .anthropic.write import AnthropicWriter

            return AnthropicWriter
        case "openai-chat":
            from .openai_chat.write import ChatWriter

            return ChatWriter
        case "openai-responses":
            from .openai_responses.write import ResponsesWriter

            return ResponsesWriter
        case "gemini":
            from .gemini.write import GeminiWriter

            return GeminiWriter
