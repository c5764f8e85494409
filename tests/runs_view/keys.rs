//! The keys.
