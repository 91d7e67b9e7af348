"""Compare call trees and rank methods: which got slower, which are changed code, which services they affect."""
