"""Train a Transformer from parallel text: recipe, data, schedule, loss, loop, evaluation."""
