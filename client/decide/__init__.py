"""The command line `decide`: asks decision endpoints, follows them and measures them, from a shell."""
