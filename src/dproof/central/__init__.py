"""The mathematics of the central model: tables of counts measured once with noise, and all that follows from them.

HLM15, section 2.3: a sanitisation may depend on the whole table. Residuals of tables: Xiao, He, Zhang, Kifer 2023.
"""
