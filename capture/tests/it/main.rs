//! The integration tests of splitproof-capture, one module per concern.
