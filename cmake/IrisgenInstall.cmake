# Installation and the package files.
