#!/bin/sh
exec node /app/dist/main.js "$@"
