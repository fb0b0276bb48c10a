"""Static HTML reports from result files: no server, no network, no asset outside the page."""
