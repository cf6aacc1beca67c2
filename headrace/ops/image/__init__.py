"""Ops on images: files, sizes, colours, boxes, measures of likeness."""
