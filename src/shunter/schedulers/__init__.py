"""External schedulers that come with Shunter. They use the public SDK and nothing else, as yours would."""
