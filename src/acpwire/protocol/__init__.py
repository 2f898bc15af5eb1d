"""What is on the wire: types, method tables, decoding. Import from the modules; this package loads none of them."""
