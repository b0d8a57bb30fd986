//! The integration tests of splitproof-replay, one module per concern.
