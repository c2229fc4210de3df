"""External schedulers that come with Shunter. They use only the public SDK, as yours would."""
