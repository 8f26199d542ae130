"""GPT-2 from scratch, and a chess GPT whose states are asked for the board."""
