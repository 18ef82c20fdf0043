"""`dproof certify`"""
