"""What is fitted to the training rows before any problem is solved: bank, units of targets."""
