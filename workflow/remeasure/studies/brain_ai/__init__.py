"""How alike the brain and models are: quoted facts drawn, and the parts that can be computed."""
