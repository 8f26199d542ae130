"""Game theory and justice: the prisoner's dilemma, tournaments, evolution."""
