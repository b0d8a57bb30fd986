//! The integration tests of splitproof-samples, one module per concern.
