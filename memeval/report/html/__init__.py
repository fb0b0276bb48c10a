"""Write static HTML reports from result files. They need no server, no network and no other files.

write_run(run, folder)      the page of one run
write_site(results)         pages of all runs and their index, in <results>/html
"""

from memeval.report.html.site import FOLDER, page_name, write_run, write_site

__all__ = ["FOLDER", "page_name", "write_run", "write_site"]
