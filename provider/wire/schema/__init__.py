"""JSON Schemas of tools in the form that each API takes."""
