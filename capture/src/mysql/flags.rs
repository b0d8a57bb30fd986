//! Makes a set of flags out of an integer, with the names that the documentation gives to its bits.

macro_rules! flags {
    ($(#[$about:meta])* $name:ident: $int:ty { $($(#[$doc:meta])* $flag:ident = $bit:expr;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$doc])* pub const $flag: $name = $name($bit);)*

            /// True when every flag of `flags` is set.
            #[inline]
            pub const fn contains(self, flags: $name) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// True when any flag of `flags` is set.
            #[inline]
            pub const fn intersects(self, flags: $name) -> bool {
                self.0 & flags.0 != 0
            }

            /// These flags without those of `flags`.
            #[must_use]
            pub const fn without(self, flags: $name) -> $name {
                $name(self.0 & !flags.0)
            }

            /// The names of the flags that are set, and the number that remains of bits without a name.
            fn named(self) -> (Vec<&'static str>, $int) {
                let mut rest = self.0;
                let mut names = Vec::new();
                $(if self.contains($name::$flag) {
                    names.push(stringify!($flag));
                    rest &= !$name::$flag.0;
                })*
                (names, rest)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let (names, rest) = self.named();
                write!(f, "{}({}", stringify!($name), names.join(" | "))?;
                match rest {
                    0 => f.write_str(")"),
                    rest => write!(f, " + {rest:#x})"),
                }
            }
        }

        impl std::ops::BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }
        }

        impl std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: $name) {
                self.0 |= other.0;
            }
        }

        impl std::ops::BitAnd for $name {
            type Output = $name;
            fn bitand(self, other: $name) -> $name {
                $name(self.0 & other.0)
            }
        }
    };
}

pub(super) use flags;
