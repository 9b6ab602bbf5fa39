"""Vouch beside llama.cpp: programs, servers, alternation and the table."""
