"""What the papers found, on one's own model: claims, their rules, and a report with one card a claim."""
