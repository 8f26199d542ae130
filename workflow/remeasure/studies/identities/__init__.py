"""Closed forms and small exact experiments on ten Transformer families."""
