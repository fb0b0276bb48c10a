"""The code that memories cite, recorded when they are learnt and compared with the working tree later."""
