"""JSON Schemas of tools in the form that an API takes."""
