# Tables that the user has, in place of a crawl.
