"""What memories cite: the code that a statement is about, recorded when it is learnt and compared with the working tree later."""
