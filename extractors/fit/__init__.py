"""How the models are made from annotated dialogues (`make train`). Nothing of it runs when messages are read."""
