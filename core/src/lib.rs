//! warena
#![no_std]
