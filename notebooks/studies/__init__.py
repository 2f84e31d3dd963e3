"""What the notebooks count, each in a module: functions that return a sentence, a table and the numbers behind them."""
