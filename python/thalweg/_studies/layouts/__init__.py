"""Which persistent layout is best for DUNE's hits and wires? studies/layouts has the question and what was found."""
