"""Questions about requests and chains: comparing, proving, shortening, searching and fixing."""
