//! The PostgreSQL protocol: to be filled in by the next commit.
