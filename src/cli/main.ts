#!/usr/bin/env node
// The entry point of the command line. It checks the version of Node, and then loads the rest
// (commands.ts), which versions that are too old cannot parse or link.

import './node-version.ts'

import('./commands.ts')
