//! The integration tests of splitproof-analyze, one module per concern.

mod check;
